import { availableParallelism } from "node:os";
import { defaultServerConditions } from "vite";
import { configDefaults, defineConfig } from "vitest/config";
import { failuresLast } from "./test/setup/failures-last.ts";

/** Our condition, before those that Vite uses for Node. */
const conditions = ["@palimpsest/source", ...defaultServerConditions];

/** Files that need a process of their own: they replace modules, measure the memory of their process, or open terminals. */
const alone = [
  "packages/cli/src/session/export-to.test.ts",
  "test/scenario/01-never-dead.test.ts",
  "test/scenario/chat-notifications.test.ts",
  "test/scenario/cli-chat.test.ts",
  "test/scenario/compaction-faults.test.ts",
  "test/scenario/compaction-long-session.test.ts",
  "test/scenario/durability.test.ts",
  "test/scenario/simulator-http.test.ts",
  "test/terminal/*.test.ts",
  "test/long/*.test.ts",
];

export default defineConfig(({ mode }) => {
  const long = mode === "long" || process.env["PALIMPSEST_LONG"] === "1";
  const exclude = [...configDefaults.exclude, ...(long ? [] : ["test/long/**"])];
  return {
    // Our packages resolve to their sources.
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      exclude,
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
        // Importing would take much of the time: these files share a process, and so must leave nothing behind in it.
        {
          extends: true,
          test: {
            name: "units",
            include: ["packages/*/src/**/*.test.ts"],
            exclude: [...exclude, ...alone],
            isolate: false,
          },
        },
        {
          extends: true,
          test: {
            name: "stories",
            include: ["test/**/*.test.ts", "scripts/**/*.test.ts"],
            exclude: [...exclude, ...alone],
            isolate: false,
          },
        },
        { extends: true, test: { name: "alone", include: alone } },
      ],
    },
  };
});
