/** Seeded chance and the words that the inputs are written with. The same seed writes the same text. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  whole(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }
  /** Around a middle, with a spread. */
  about(middle: number, spread: number): number {
    return middle + (this.next() + this.next() + this.next() - 1.5) * spread;
  }
  of<T>(items: readonly T[]): T {
    return items[this.whole(0, items.length - 1)] as T;
  }
  chance(share: number): boolean {
    return this.next() < share;
  }
  hex(length: number): string {
    let out = "";
    while (out.length < length) out += Math.floor(this.next() * 16).toString(16);
    return out;
  }
  uuid(): string {
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-a${this.hex(3)}-${this.hex(12)}`;
  }
  base64(length: number): string {
    let out = "";
    while (out.length < length)
      out += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[this.whole(0, 63)];
    return out;
  }
  ip(): string {
    return `10.${this.whole(0, 31)}.${this.whole(0, 255)}.${this.whole(1, 254)}`;
  }
  words(count: number): string {
    return Array.from({ length: count }, () => this.of(WORDS)).join(" ");
  }
  sentence(least = 8, most = 18): string {
    const text = this.words(this.whole(least, most));
    return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
  }
  person(): string {
    return `${this.of(FIRST)} ${this.of(LAST)}`;
  }
}

/** Runs `make` for 0 to `count` - 1. */
export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
export const lines = (parts: readonly string[]): string => `${parts.join("\n")}\n`;
/** A moment, so many milliseconds after the morning of 4 May 2026. */
export const moment = (ms: number): string => new Date(Date.UTC(2026, 4, 4, 6, 0, 0) + Math.floor(ms)).toISOString();

export const FIRST =
  "Amara Boris Chloe Dmitri Elena Farid Grace Hiro Ingrid Jamal Katya Liam Mei Nadia Omar Priya Quentin Rosa Sven Tara Uma Viktor Wanda Ximena Yusuf Zoe".split(
    " ",
  );
export const LAST =
  "Abara Becker Castro Dubois Eriksen Fischer Garcia Haddad Ivanov Jensen Kowalski Lindqvist Moreau Nakamura Okafor Petrov Quintero Rossi Schmidt Tanaka Ueda Varga Weber Xu Yilmaz Zhang".split(
    " ",
  );
export const CITIES = "Lisbon Porto Hamburg Utrecht Gdansk Tallinn Bologna Sevilla Graz Ghent Malmo Brno".split(" ");
export const SERVICES =
  "checkout billing catalog search session mailer inventory shipping pricing gateway ledger media".split(" ");
export const ENTITIES =
  "Order Invoice Shipment Customer Refund Voucher Carrier Warehouse Parcel Tariff Quote Subscription Payment Address Basket Return".split(
    " ",
  );
export const PACKAGES =
  "acorn ansi-styles balanced-match body-parser braces bytes call-bind chalk color-convert content-type cookie cross-spawn debug deep-equal delegates depd dotenv emoji-regex escape-html esbuild eslint-scope etag express fast-glob fill-range finalhandler find-up form-data fresh fs-extra function-bind get-stream glob-parent globals graceful-fs has-flag http-errors iconv-lite ignore import-fresh inherits is-extglob is-glob is-number js-yaml json5 kleur levn lodash lru-cache magic-string merge2 micromatch mime-db mime-types minimatch minimist ms nanoid negotiator node-releases on-finished once open optionator p-limit p-locate parseurl path-key picocolors picomatch postcss prelude-ls proxy-addr punycode qs queue-microtask range-parser raw-body resolve-from reusify rimraf rollup run-parallel safe-buffer semver send serve-static setprototypeof shebang-command signal-exit slash source-map-js statuses strip-ansi supports-color tinypool to-regex-range toidentifier tslib type-check type-is undici unpipe update-browserslist-db uri-js utils-merge vary vite which word-wrap wrappy ws yallist yargs-parser yocto-queue zod".split(
    " ",
  );
export const WORDS =
  "account address adapter agent amount answer archive balance batch border branch bridge budget buffer cache carrier channel charge client column command commit config contract counter courier credit customer cycle damage deadline decision delivery deposit device digest discount document draft driver engine event export factor feature field figure filter folder forecast format frame gateway handler header history import index input invoice item journal key label layer ledger limit line list loader market match meter method metric mirror model module monitor network notice number object offer office order output owner package page parcel partner path payment period plan policy pool port price process product profile project prompt queue quota range rate record refund region release report request reserve result return review route rule sample schedule schema scope season segment sender series server session shelf signal source stage stamp state status stock store stream supply switch system table target tariff task team template tenant term test thread ticket token topic total trace track trade trigger type unit update upload user value vendor version view voucher warehouse window worker zone".split(
    " ",
  );
export const VERBS =
  "create update cancel approve reject archive restore split merge assign release reserve validate export import reconcile".split(
    " ",
  );
