import { bundleForBrowser } from "../browser/bundle.ts";
import type { BenchCase } from "../measure.ts";

/** What a page downloads for `palimpsest/policy` and the projection of a transcript, with zod. */
export const browserCase: BenchCase = {
  name: "browser",
  run: async () => {
    const { code, gzipBytes, imports } = await bundleForBrowser();
    const detail = `${(code.length / 1_000).toFixed(0)} kB minified, zod included`;
    return [
      { name: "policy and projection in a browser, gzipped", value: gzipBytes / 1_000, unit: "kB", limit: 52, detail },
      {
        name: "imports that a browser does not have",
        value: imports.length,
        unit: "",
        limit: 0,
        detail: imports.join(),
      },
    ];
  },
};
