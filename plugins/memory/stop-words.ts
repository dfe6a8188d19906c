import { plain } from "./plain.ts";

/**
 * Words that carry no topic, in the languages that are recognised: they are neither indexed nor asked for. Everywhere
 * else the frequency of a word tells.
 */
const LISTS = [
  // English
  "a about after again all also am an and any anyone are as at be because been before being between both but by can could did do does doing done during each else ever every few for from get give go got had has have having he her here hers him his how however i if in into is it its just know last let like long look made make many may me might mine more most much must my need new no nor not now of off often on once one only or other our ours out over own please s same say she should since so some something sort still such t take tell than that the their theirs them then there these they thing things this those through to too under until up us use used using usually very via want was way we were what whats when where whether which while who whom whose why will with without would yet you your yours",
  // German
  "aber als am an auch auf aus bei bin bis das dass dem den der des die doch ein eine einem einen einer er es für gibt haben hat hier ich ihr im in ist ja kann kein keine man mein mit muss nach nicht noch nur ob oder sich sie sind so soll über um und uns unser unsere von vor war was welche welcher welches wenn wer werden wie wir wird wo womit zu zum zur",
  // French
  "au aux avec ce ces cette comme comment dans de des du elle en est et eux il je la le les leur lui ma mais me mes moi mon ne nos notre nous on ont ou où par pas pour quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes ton tu un une vos votre vous",
  // Spanish
  "al como con cual cuál cuando cuándo de del dónde donde el ella en es esta este están está ha hay la las lo los más me mi muy no nos nuestra nuestro o para pero por porque qué que quien quién se ser si sin sobre son su sus te tiene tu un una uno y ya",
  // Russian
  "а без бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть ещё же за и из или им их к как какая какие какой какое какую когда кого который которая кто ли мне мы на над наш наша наше наши нашего нашей не него нет ни но ну о об он она они оно от по под при с сколько со так также там то тоже только у уже чего чем через что чтобы чья это этот эта эту я",
  // Arabic
  "في من على إلى عن ما ماذا متى أين اين كيف هل هو هي هذا هذه ذلك التي الذي مع كان كل قد أو او ثم كم لماذا نحن أن ان لا",
];
export const STOP_WORDS: ReadonlySet<string> = new Set(LISTS.flatMap((list) => list.split(" ")).map(plain));

/** Phrases of scripts written without spaces that carry no topic; text is parted at them. */
const PHRASES = [
  // Chinese
  "为什么 什么时候 什么 怎么样 怎么 怎样 如何 哪里 哪个 哪些 哪儿 多少 几点 我们 你们 他们 它们 请问 可以 应该 需要 是否 以及 因为 所以 的 了 吗 呢 是 在 我 你 他 她 它 们 和 与 有 被 把 就 都 也 很 用 由 谁 里 上 下 到 从 对 给 这 那 不 要 会 能",
  // Japanese
  "ですか ますか でしょうか ください しました してください しています されます します される する した して いつ どこ どの どう どれ だれ 誰 何時 何 なに なぜ いくつ いくら です ます でした ました ません という について から まで ため こと もの それ これ あれ この その あの よう は が を に で の と も へ や か ね よ",
  // Thai
  "อะไร ที่ไหน เมื่อไหร่ เมื่อไร อย่างไร ยังไง ทำไม เท่าไหร่ เท่าไร ใคร ไหน กี่ ครับ ค่ะ คะ ของ และ หรือ ที่ ใน เป็น คือ จะ ได้ ให้ ไป มา กับ จาก โดย เพื่อ ว่า นี้ นั้น เรา ต้อง ไม่ ทุก มี การ ความ",
].flatMap((list) => list.split(" "));
/** Longer phrases before those they begin with. */
export const STOP_PHRASES = new RegExp(PHRASES.sort((a, b) => b.length - a.length).join("|"), "gu");

/** Endings that Korean words carry: without them the word is the same. */
export const KOREAN_ENDINGS =
  /(?<=[\p{Script=Hangul}]{2})(?:에서는|으로는|입니까|습니다|입니다|합니다|됩니다|에서|으로|에게|까지|부터|이다|인가요|나요|은|는|이|가|을|를|의|에|로|와|과|도|만|요)$/u;
export const KOREAN_STOP = new Set(
  "어디 언제 누가 누구 무엇 무슨 어떤 어느 어떻게 얼마 얼마나 몇 왜 우리 저희 있는 있나 있 하는 하나 해야 하 그 이 저 것 수 및".split(
    " ",
  ),
);
