import { expect, it } from "vitest";
import { findElements } from "./request-text.ts";

const insides = (text: string): readonly string[] =>
  findElements(text, (name) => name.startsWith("x")).map(({ inside }) => inside);

it.each<[string, string, readonly string[]]>([
  ["one", "a <x>b</x> c", ["b"]],
  ["with attributes, in any case", 'a <X k="v">b</x> c', ["b"]],
  ["two", "<x>a</x><x-y>b\nc</x-y>", ["a", "b\nc"]],
  ["one inside another", "<x><xy>a</xy></x><xz>b</xz>", ["<xy>a</xy>", "b"]],
  ["up to the first that closes it", "<x>a<x>b</x>c</x>", ["a<x>b"]],
  ["none that is not closed", "<x>a<xy>b</xy>", ["b"]],
  ["none of another name", "<y>a</y></x>", []],
  ["with marks that are no tags", "a < b <x>1 < 2 <> c</x>", ["1 < 2 <> c"]],
])("%s", (_, text, expected) => {
  expect(insides(text)).toEqual(expected);
});

it("says where they stand", () => {
  const text = "ab<x>c</x>d";
  expect(findElements(text, () => true).map(({ start, end }) => text.slice(start, end))).toEqual(["<x>c</x>"]);
});
