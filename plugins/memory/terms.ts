/**
 * Text as terms, the same for what is stored and what is asked. Words in scripts with spaces; in scripts without,
 * overlapping neighbours, so that any stretch is found wherever a reader would end a word.
 */
import { plain } from "./plain.ts";
import { KOREAN_ENDINGS, KOREAN_STOP, STOP_PHRASES, STOP_WORDS } from "./stop-words.ts";

export interface Term {
  readonly text: string;
  /** The beginning that inflected forms of a word share; undefined for terms that do not inflect. */
  readonly stem?: string;
}

/** Words share their first so many letters when one may be a form of the other. */
const STEM = 4;
/** Of a longer word the beginning is enough. */
const LONGEST = 64;

const RUNS =
  /(?<han>\p{Script=Han}+)|(?<kana>[\p{Script=Katakana}ー]+)|(?<hira>\p{Script=Hiragana}+)|(?<hangul>\p{Script=Hangul}+)|(?<plainless>[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+)|(?<number>\p{N}+)|(?<word>(?:(?!\p{Script=Han}|\p{Script=Katakana}|\p{Script=Hiragana}|\p{Script=Hangul}|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}|\p{Script=Myanmar})[\p{L}\p{M}])+)/gu;

/** The terms of a text in their order, stop words left out. */
export function termsOf(text: string): Term[] {
  const parted = plain(text.replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")).replace(STOP_PHRASES, " ");
  const terms: Term[] = [];
  for (const { groups } of parted.matchAll(RUNS)) {
    if (groups?.word !== undefined) word(groups.word, terms);
    else if (groups?.number !== undefined) terms.push({ text: groups.number.slice(0, LONGEST) });
    else if (groups?.han !== undefined) neighbours(groups.han, 2, terms);
    else if (groups?.kana !== undefined) kana(groups.kana, terms);
    else if (groups?.hira !== undefined) hiragana(groups.hira, terms);
    else if (groups?.hangul !== undefined) korean(groups.hangul, terms);
    else if (groups?.plainless !== undefined) neighbours(groups.plainless, 3, terms);
  }
  return terms;
}

function word(text: string, terms: Term[]): void {
  if (STOP_WORDS.has(text)) return;
  const said = /^\p{Script=Arabic}/u.test(text) ? text.replace(/^[وفبكل]?ال(?=.{3})/u, "") : text;
  const signs = [...said].slice(0, LONGEST);
  if (signs.length < 2) return;
  const kept = signs.join("");
  terms.push(signs.length < STEM ? { text: kept } : { text: kept, stem: signs.slice(0, STEM).join("") });
}

/** Katakana spells foreign words, which are words whole. */
function kana(run: string, terms: Term[]): void {
  if (run.length >= 2) terms.push({ text: run.slice(0, LONGEST) });
}

/** Short stretches are particles and endings. */
function hiragana(run: string, terms: Term[]): void {
  if (run.length >= 3) neighbours(run, 2, terms);
}

function korean(run: string, terms: Term[]): void {
  if (KOREAN_STOP.has(run)) return;
  const base = run.replace(KOREAN_ENDINGS, "");
  if (!KOREAN_STOP.has(base)) neighbours(base, 2, terms);
}

function neighbours(run: string, size: number, terms: Term[]): void {
  const signs = [...run];
  if (signs.length <= size) {
    terms.push({ text: run });
    return;
  }
  for (let at = 0; at + size <= signs.length; at++) terms.push({ text: signs.slice(at, at + size).join("") });
}

/** How alike two words are: 1 for the same, less for two forms of one, 0 for others. */
export function likeness(a: Term, b: Term): number {
  if (a.text === b.text) return 1;
  if (a.stem === undefined || a.stem !== b.stem) return 0;
  const most = Math.max(a.text.length, b.text.length);
  let shared = STEM;
  while (shared < most && a.text[shared] === b.text[shared]) shared++;
  return shared / most >= LEAST_SHARED ? FORM : 0;
}
const LEAST_SHARED = 0.6;
/** What a form of a word counts beside the word itself. */
export const FORM = 0.85;
