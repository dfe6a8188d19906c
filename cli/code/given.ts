/** Options without those that were left out: an absent key and `undefined` are not the same to who receives them. */
type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

export const given = <T extends object>(options: T): Given<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;
