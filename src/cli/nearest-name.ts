const mostWrong = 2; // how many letters of a near name may be wrong, missing or extra

/** Returns a text such as `; did you mean "sunny"?`. Ignores case. Suggests `ada@…` for `ada`. */
export async function didYouMean(word: string, names: AsyncIterable<string> | Iterable<string>): Promise<string> {
  const typed = word.toLowerCase();
  let best = { name: '', wrong: Math.min(mostWrong, Math.floor(word.length / 3)) + 1 };
  for await (const name of names) {
    const own = name.toLowerCase();
    const wrong = own.startsWith(`${typed}@`) ? 0 : lettersWrong(typed, own, best.wrong);
    if (wrong < best.wrong) best = { name, wrong };
  }
  return best.name === '' ? '' : `; did you mean ${JSON.stringify(best.name)}?`;
}

/** Returns the edit distance of two words (Damerau-Levenshtein, with swaps), at most `most`. */
function lettersWrong(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) >= most) return most;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  let before = row;
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : most;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1), swapped));
    }
    [before, row] = [row, next];
  }
  return Math.min(row[b.length]!, most);
}
