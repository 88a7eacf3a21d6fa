import { describe, expect, it } from "vitest";
import { LruMap } from "./lru-map.ts";

const full = (): LruMap<string, number> => {
  const recent = new LruMap<string, number>(3);
  for (const [at, key] of ["a", "b", "c"].entries()) recent.set(key, at);
  return recent;
};
const kept = (recent: LruMap<string, number>): readonly string[] =>
  ["a", "b", "c", "d"].filter((key) => recent.peek(key) !== undefined);

describe("a map with room for three", () => {
  it("forgets what was put first when nothing was used since, and hands it back", () => {
    const recent = full();
    expect(recent.set("d", 3)).toBe(0);
    expect(kept(recent)).toEqual(["b", "c", "d"]);
  });

  it.each<[string, (recent: LruMap<string, number>) => unknown, readonly string[]]>([
    ["getting", (recent) => recent.get("a"), ["a", "c", "d"]],
    ["putting again", (recent) => recent.set("a", 9), ["a", "c", "d"]],
    ["peeking", (recent) => recent.peek("a"), ["b", "c", "d"]],
  ])("%s: what is left once a fourth comes", (_, use, left) => {
    const recent = full();
    use(recent);
    recent.set("d", 3);
    expect(kept(recent)).toEqual(left);
  });

  it("putting a key again pushes nothing out", () => {
    const recent = full();
    expect(recent.set("b", 7)).toBeUndefined();
    expect([recent.size, recent.peek("b")]).toEqual([3, 7]);
  });

  it("what is taken is gone, and the next oldest follows", () => {
    const recent = full();
    expect([recent.take("a"), recent.take("a"), recent.oldest]).toEqual([0, undefined, "b"]);
  });

  it("has room for at least one", () => {
    expect(() => new LruMap(0)).toThrow(RangeError);
  });
});
