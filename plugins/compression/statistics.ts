/** What stands out in a column of numbers: values far from the rest, and places where the level changes. */

/** Robust z-score from which a value is an outlier (Iglewicz and Hoaglin). */
const OUTLIER = 3.5;
/** Brings the median absolute deviation to the scale of a standard deviation. */
const MAD_SCALE = 1.4826;
/** Most outliers of one column; the furthest are taken. More of them would be a distribution with a long tail. */
const MAX_OUTLIERS = 12;
/** Level changes of one column. */
const MAX_SEAMS = 8;
/** Significance of a level change: the 1 % point of the largest excursion of a Brownian bridge. */
const SEAM = 1.63;
const MIN_SEGMENT = 8;

/** Indices of values far from the median, in units of the median absolute deviation. Entries that are no number are skipped. */
export function outliers(values: Float64Array): number[] {
  const present = values.filter((value) => !Number.isNaN(value)).sort();
  if (present.length < MIN_SEGMENT) return [];
  const middle = medianOf(present);
  const deviations = present.map((value) => Math.abs(value - middle)).sort();
  // With most values equal the deviation is 0: then whatever differs stands out.
  const scale = medianOf(deviations) * MAD_SCALE;
  const found: { index: number; distance: number }[] = [];
  for (let index = 0; index < values.length; index++) {
    const distance = Math.abs((values[index] ?? Number.NaN) - middle);
    if (distance > 0 && distance >= OUTLIER * scale) found.push({ index, distance });
  }
  if (scale === 0 && found.length > MAX_OUTLIERS * 2) return extremes(found, 2);
  return extremes(found, MAX_OUTLIERS);
}

/** Indices of the few numbers below zero where nearly all are not. */
export function rareSigns(values: Float64Array): number[] {
  const negative: number[] = [];
  let others = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? Number.NaN;
    if (value < 0) negative.push(index);
    else if (value >= 0) others++;
  }
  return negative.length <= MAX_OUTLIERS && negative.length * 20 <= others ? negative : [];
}

const extremes = (found: { index: number; distance: number }[], most: number): number[] =>
  found
    .sort((a, b) => b.distance - a.distance || a.index - b.index)
    .slice(0, most)
    .map(({ index }) => index);

const medianOf = (sorted: Float64Array): number => {
  const half = sorted.length >> 1;
  return sorted.length % 2 ? (sorted[half] ?? 0) : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
};

/** First indices of new levels, by cumulative sums and binary segmentation. A steady rise or fall has no levels. */
export function seams(values: Float64Array): number[] {
  if (values.length < 2 * MIN_SEGMENT || isSteady(values)) return [];
  const found: number[] = [];
  const segments: [from: number, to: number][] = [[0, values.length]];
  for (let next = segments.shift(); next && found.length < MAX_SEAMS; next = segments.shift()) {
    const [from, to] = next;
    const seam = seamIn(values, from, to);
    if (seam === undefined) continue;
    found.push(seam);
    segments.push([from, seam], [seam, to]);
  }
  return found.sort((a, b) => a - b);
}

function seamIn(values: Float64Array, from: number, to: number): number | undefined {
  let count = 0;
  let sum = 0;
  let squares = 0;
  for (let i = from; i < to; i++) {
    const value = values[i] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    count++;
    sum += value;
    squares += value * value;
  }
  if (count < 2 * MIN_SEGMENT) return undefined;
  const mean = sum / count;
  const deviation = Math.sqrt(Math.max(0, squares / count - mean * mean));
  if (!(deviation > Math.abs(mean) * 1e-9)) return undefined;
  let walk = 0;
  let furthest = 0;
  let seam = from;
  for (let i = from; i < to; i++) {
    const value = values[i] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    walk += value - mean;
    if (Math.abs(walk) > furthest && i - from + 1 >= MIN_SEGMENT && to - i - 1 >= MIN_SEGMENT) {
      furthest = Math.abs(walk);
      seam = i + 1;
    }
  }
  return seam > from && furthest / (deviation * Math.sqrt(count)) >= SEAM ? seam : undefined;
}

/** Whether nearly every step goes the same way: counters, identifiers, times. */
function isSteady(values: Float64Array): boolean {
  let up = 0;
  let down = 0;
  for (let i = 1; i < values.length; i++) {
    const step = (values[i] ?? 0) - (values[i - 1] ?? 0);
    if (step > 0) up++;
    else if (step < 0) down++;
  }
  const steps = up + down;
  return steps === 0 || Math.max(up, down) >= steps * 0.95;
}
