import { availableParallelism } from "node:os";
import { defaultServerConditions } from "vite";
import { configDefaults, defineConfig } from "vitest/config";
import { failuresLast } from "./test/setup/failures-last.ts";

/** Our condition, before those that Vite uses for Node. */
const conditions = ["@palimpsest/source", ...defaultServerConditions];

export default defineConfig(({ mode }) => {
  const long = mode === "long" || process.env["PALIMPSEST_LONG"] === "1";
  return {
    // Our packages resolve to their sources.
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      exclude: [...configDefaults.exclude, ...(long ? [] : ["test/long/**"])],
      env: long ? { PALIMPSEST_LONG: "1" } : {},
      // Processes, not threads: in a thread os.homedir() would still give the real home.
      pool: "forks",
      // Many tests wait for a program that they started, so one worker per core keeps the machine busy.
      maxWorkers: Math.max(2, availableParallelism()),
      reporters: ["default", failuresLast],
      globalSetup: ["test/setup/run-folder.ts"],
      setupFiles: ["test/setup/home.ts"],
      testTimeout: long ? 30 * 60_000 : 60_000,
      hookTimeout: long ? 5 * 60_000 : 60_000,
      projects: [
        // Most of a unit test's time would be its imports: these files share a process, and so must leave nothing behind in it.
        { extends: true, test: { name: "units", include: ["packages/*/src/**/*.test.ts"], isolate: false } },
        { extends: true, test: { name: "stories", include: ["test/**/*.test.ts", "scripts/**/*.test.ts"] } },
      ],
    },
  };
});
