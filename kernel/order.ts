/** A stable order: as listed, but everything after what it names. */
export function inOrder<T>(list: readonly T[], after: ReadonlyMap<T, ReadonlySet<T>>, circle: (left: readonly T[]) => Error): T[] {
  const left = new Set(list);
  const out: T[] = [];
  while (left.size > 0) {
    const next = [...left].find((entry) => ![...(after.get(entry) ?? [])].some((other) => left.has(other)));
    if (next === undefined) throw circle([...left]);
    left.delete(next);
    out.push(next);
  }
  return out;
}
