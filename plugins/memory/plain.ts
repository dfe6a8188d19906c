/** The form in which words are compared: without case, and without marks over letters where they only colour the letter. */
export function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}])\p{Mn}+/gu, "$1")
    .normalize("NFC")
    .toLowerCase();
}
