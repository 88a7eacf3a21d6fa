import * as fc from "fast-check";
import { expect, test } from "vitest";
import { toolbox } from "../../test/fixture/toolbox.ts";
import { recallCharsDefault } from "./limits.ts";

const holding = (text: string) =>
  toolbox({
    expand: async (id) => (id === "x" ? { kind: "found", text } : { kind: "missing", why: "nothing has this id" }),
  });

test("gives back what an id stands for, in pages that say where the next begins", async () => {
  const box = await holding("0123456789");
  expect((await box.call("recall", { id: "x" })).text).toBe("0123456789");
  expect((await box.call("recall", { id: "x", offset: 2, limit: 3 })).text).toBe(
    "234\n(characters 2 to 5 of 10; go on with offset 5)",
  );
  expect((await box.call("recall", { id: "x", offset: 8, limit: 3 })).text).toBe("89");
  const long = await holding("y".repeat(recallCharsDefault + 1));
  expect((await long.call("recall", { id: "x" })).text).toContain(`offset ${recallCharsDefault})`);
});

test("says what is missing", async () => {
  const box = await holding("0123456789");
  expect(await box.call("recall", { id: "y" })).toMatchObject({ isError: true, text: "y: nothing has this id" });
  expect(await box.call("recall", { id: "x", offset: 10 })).toMatchObject({ isError: true });
});

test("the pages together are the whole, and none splits a character", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme", minLength: 1 }),
      fc.integer({ min: 1, max: 9 }),
      async (text, limit) => {
        const box = await holding(text);
        const pages: string[] = [];
        for (let offset = 0; offset < text.length; offset += pages.at(-1)?.length ?? 0) {
          const page = (await box.call("recall", { id: "x", offset, limit })).text.replace(
            /\n\(characters \d+ to .*$/,
            "",
          );
          expect(page.isWellFormed()).toBe(true);
          pages.push(page);
        }
        expect(pages.join("")).toBe(text);
      },
    ),
    { numRuns: 30 },
  );
});
