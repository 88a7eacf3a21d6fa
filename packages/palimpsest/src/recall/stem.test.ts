import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { porterStem } from "../text/porter.ts";
import { passageStems, queryStems, stemText } from "./stem.ts";

describe("Porter's rules", () => {
  it.each(
    `caresses:caress ponies:poni ties:ti cats:cat feed:feed agreed:agre plastered:plaster motoring:motor sing:sing
    conflated:conflat troubled:troubl sized:size hopping:hop tanned:tan falling:fall hissing:hiss fizzed:fizz failing:fail
    filing:file happy:happi sky:sky relational:relat conditional:condit digitizer:digit radically:radic operator:oper
    feudalism:feudal hopefulness:hope triplicate:triplic formative:form revival:reviv allowance:allow adjustment:adjust
    adoption:adopt probate:probat rate:rate controll:control roll:roll is:is`
      .split(/\s+/)
      .map((pair) => pair.split(":")),
  )("%s becomes %s", (word = "", stem = "") => {
    expect(porterStem(word)).toBe(stem);
  });
});

describe("stems", () => {
  it.each([
    ["went", "going", "an irregular verb"],
    ["bought", "buys", "another"],
    ["children", "child", "an irregular noun"],
    ["Hiking", "hiked", "forms of a regular verb, in any case"],
    ["Caroline's", "caroline", "a name that something belongs to"],
    ["Caroline’s", "caroline", "the same with a printed apostrophe"],
    ["café", "cafe", "a word whatever its accents"],
  ])("%s and %s are the same: %s", (one, other) => {
    expect(stemText(one)).toEqual(stemText(other));
  });

  it("leave out words that say nothing, question words among them", () => {
    expect(stemText("When did we go to the museum, and what's there?")).toEqual(["go", "museum"]);
  });

  it("keep numbers and repeated words in their order", () => {
    expect(stemText("7 dogs, 2 cats, 7 dogs")).toEqual(["7", "dog", "2", "cat", "7", "dog"]);
  });

  it("of a query are distinct", () => {
    expect(queryStems("dogs and dog")).toEqual(["dog"]);
  });

  it("of a passage have a person's name and the call of a result, but no role", () => {
    expect(passageStems({ speaker: "Melanie", text: "Hi!" })).toEqual(stemText("Melanie hi"));
    expect(passageStems({ speaker: "user", text: "Hi!" })).toEqual(["hi"]);
    expect(passageStems({ speaker: "tool", text: "ok", call: "Read src/retry.ts" })).toEqual(
      stemText("read src retry ts ok"),
    );
  });

  it("are words of letters and digits, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(stemText(text).filter((stem) => !/^[a-z0-9]+$/.test(stem))).toEqual([]);
      }),
    );
  });
});
