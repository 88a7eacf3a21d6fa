import { describe, expect, it } from "vitest";
import { corpusFiles, corpusPath, hasCorpus } from "../fixture/corpus.ts";
import { goOnWith, wrongSizes } from "./support/going-on.ts";

const reason = hasCorpus ? "" : " (left out: PALIMPSEST_CORPUS is not there)";
/** Short ones; `test/long` has all of them. */
const sample = ["cli-95-", "git-sync-79-", "oh-my-posh-1b-"].flatMap((name) =>
  corpusFiles.filter((file) => file.startsWith(name)),
);

describe.skipIf(!hasCorpus)(`going on with an imported session${reason}`, () => {
  it.each(sample)("%s has one size, whoever is asked", async (file) => {
    const gone = await goOnWith(corpusPath(file));
    expect(wrongSizes(gone)).toEqual([]);
    expect(gone.compacted).toBeDefined();
    expect(gone.undone).toBeDefined();
  });
});
