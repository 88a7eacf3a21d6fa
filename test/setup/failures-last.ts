import { styleText } from "node:util";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

/** A failed test, or a file or suite that could not be run, and the first line of the error. */
interface FailedItem {
  readonly file: string;
  /** If absent, the file itself failed. */
  readonly test?: string;
  readonly error: string | undefined;
}

interface RunResult {
  readonly passed: number;
  readonly failed: readonly FailedItem[];
}

/** The last lines of a failed run, so that its end shows which tests failed, and why. */
export function failureLines({ passed, failed }: RunResult): readonly string[] {
  if (failed.length === 0) return [];
  const lines = failed.map(({ file, test, error }) => {
    const name = test === undefined ? file : `${file} › ${test}`;
    return `${name}: ${firstLine(error)}`;
  });
  return [...lines, `${passed} passed, ${failed.length} failed`];
}

const firstLine = (text = "no reason was given"): string =>
  text
    .split("\n")
    .find((line) => line.trim() !== "")
    ?.trim() ?? "an error without words";

export const failuresLast: Reporter = {
  onTestRunEnd(modules, unhandled) {
    const lines = failureLines(runResult(modules, unhandled));
    // Uses the same stream as the report above, so that it comes last.
    if (lines.length > 0) process.stdout.write(`${styleText("red", lines.join("\n"))}\n`);
  },
};

function runResult(modules: readonly TestModule[], unhandled: readonly SerializedError[]): RunResult {
  const failed = modules.flatMap((module) => failedIn(module));
  const passed = modules.flatMap((module) => [...module.children.allTests("passed")]).length;
  const outside = unhandled.map(({ message }): FailedItem => ({ file: "outside of every test", error: message }));
  return { passed, failed: [...failed, ...outside] };
}

function failedIn(module: TestModule): readonly FailedItem[] {
  const file = module.relativeModuleId;
  const ofModule = module.errors().map(({ message }): FailedItem => ({ file, error: message }));
  const ofSuites = [...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map(({ message }): FailedItem => ({ file, test: suite.fullName, error: message })),
  );
  const ofTests = [...module.children.allTests("failed")].map((test): FailedItem => {
    const error = test.result().errors?.[0]?.message;
    return { file, test: test.fullName, error };
  });
  return [...ofModule, ...ofSuites, ...ofTests];
}
