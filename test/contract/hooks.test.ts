import { type HookCallbacks, noHooks } from "../../packages/palimpsest/src/ports/hooks.ts";
import { type HookAnswer, hookEventNames } from "../../packages/palimpsest/src/schema/hook.ts";
import { createHooks } from "../../packages/cli/src/tool/hooks/create-hooks.ts";
import { type HookDoes, hooksContract } from "./hooks.ts";

const parts = { settings: () => [], shell: "/bin/sh", env: { PATH: process.env["PATH"] ?? "" }, projectRoot: "/" };

const spoken = { hookSpecificOutput: { additionalContext: "spoken" } };
const commandFor: Readonly<Record<HookDoes, string>> = {
  "says-nothing": "true",
  blocks: "echo blocked >&2; exit 2",
  speaks: `printf '%s' '${JSON.stringify(spoken)}'`,
  fails: "exit 7",
  "never-ends": "sleep 60",
};

hooksContract({
  name: "commands of the settings",
  make: (hooks) => {
    const settings = hookEventNames.flatMap((event) =>
      hooks.map((does) => ({ event, matcher: "", from: "settings.json", command: commandFor[does] })),
    );
    return createHooks({ ...parts, settings: () => settings });
  },
});

const functionFor: Readonly<Record<HookDoes, () => HookAnswer | undefined | Promise<HookAnswer>>> = {
  "says-nothing": () => undefined,
  blocks: () => ({ block: "blocked" }),
  speaks: () => ({ context: "spoken" }),
  fails: () => Promise.reject(new Error("it broke")),
  "never-ends": () => new Promise(() => undefined),
};

hooksContract({
  name: "functions of a caller",
  make: (hooks) => {
    const callbacks = hooks.map((does): HookCallbacks => {
      const same = functionFor[does];
      return { PreToolUse: same, PostToolUse: same, Notification: same, UserPromptSubmit: same };
    });
    return createHooks({ ...parts, callbacks });
  },
});

hooksContract({ name: "none", empty: "it stands for no hooks", make: () => noHooks });
