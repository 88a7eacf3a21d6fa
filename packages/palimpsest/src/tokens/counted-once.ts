/** Counts each value once: blocks and messages never change. What is remembered goes with its value. */
export function countedOnce<Value extends object, Count extends number>(
  count: (value: Value) => Count,
): (value: Value) => Count {
  const countByValue = new WeakMap<Value, Count>();
  return (value) => {
    const known = countByValue.get(value);
    if (known !== undefined) return known;
    const counted = count(value);
    countByValue.set(value, counted);
    return counted;
  };
}
