/** Numbers and names as a person reads them. */

export const grouped = (n: number): string => n.toLocaleString("en-US");
export const plural = (n: number, what: string): string => `${grouped(n)} ${what}${n === 1 ? "" : "s"}`;
export const tokens = (n: number): string => plural(n, "token");
/** Shares are cut, never rounded up: 100 % means all of it. */
export const share = (part: number): string => `${Math.floor(part * 100)}%`;
/** Codes and reasons, which are words with underscores. */
export const words = (code: string): string => code.replaceAll("_", " ");
