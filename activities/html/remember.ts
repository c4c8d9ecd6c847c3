/** Returns a function that computes each result once. */
export function remember<K, V>(compute: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = compute(key);
    known.set(key, made);
    return made;
  };
}
