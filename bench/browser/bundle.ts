import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

export interface BrowserBundle {
  readonly code: string;
  readonly gzipBytes: number;
  /** What the bundler could not put into the bundle: none, if nothing of Node is imported. */
  readonly imports: readonly string[];
}

/** Bundles a program for browsers, from the sources, minified. */
export async function bundleForBrowser(entry = join(import.meta.dirname, "entry.ts")): Promise<BrowserBundle> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    root: import.meta.dirname,
    resolve: { conditions: ["@palimpsest/source", "module", "browser"] },
    build: {
      write: false,
      minify: true,
      target: "es2024",
      modulePreload: false,
      rolldownOptions: { input: entry, output: { codeSplitting: false }, external: /^node:/ },
    },
  });
  const outputs = Array.isArray(built) ? built : [built];
  const chunks = outputs.flatMap((one) => ("output" in one ? one.output : [])).filter((one) => one.type === "chunk");
  const code = chunks.map((chunk) => chunk.code).join("\n");
  const imports = chunks.flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports]);
  return { code, gzipBytes: gzipSync(code, { level: 9 }).length, imports };
}
