import { describe, expect, it } from "vitest";
import { credentialsMax } from "../limits.ts";
import { Credentials } from "./credentials.ts";

const keyed = (key: string): Headers => new Headers({ "x-api-key": key });

describe("the credentials of a recorder", () => {
  it("are those of this message and of all before it", () => {
    const credentials = new Credentials();
    credentials.seenWith(keyed("the-first-of-the-keys"));
    expect(credentials.seenWith(keyed("the-second-of-the-keys"))).toEqual([
      "the-first-of-the-keys",
      "the-second-of-the-keys",
    ]);
  });

  it("are so many at most; one that comes again and again is not forgotten", () => {
    const credentials = new Credentials();
    const seeMany = (turn: string): void => {
      for (let number = 1; number < credentialsMax; number += 1)
        credentials.seenWith(keyed(`number-${number}-of-the-${turn}-keys`));
    };
    for (const turn of ["first", "second"]) {
      credentials.seenWith(keyed("the-key-of-every-request"));
      seeMany(turn);
    }
    const seen = credentials.seenWith(new Headers());
    expect(seen).toHaveLength(credentialsMax);
    expect(seen).toContain("the-key-of-every-request");
    expect(seen).not.toContain("number-1-of-the-first-keys");
  });
});
