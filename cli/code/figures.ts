/** Figures as a person reads them. */
import { format, type Money } from "../../catalog/money.ts";

/** Milliseconds under a second, else seconds, else minutes. */
export const duration = (ms: number): string =>
  ms < 1_000
    ? `${Math.round(ms)} ms`
    : ms < 60_000
      ? `${(ms / 1_000).toFixed(1)} s`
      : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
export const size = (bytes: number): string =>
  bytes < 1_000
    ? `${bytes} B`
    : bytes < 1_000_000
      ? `${(bytes / 1_000).toFixed(1)} kB`
      : `${(bytes / 1_000_000).toFixed(1)} MB`;
export const grouped = (count: number): string => count.toLocaleString("en-US");
export const plural = (count: number, what: string): string => `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;
export const dollars = (amount: Money): string => format(amount, 6);
