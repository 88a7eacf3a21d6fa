import { expect, test } from "vitest";
import { safeGitEnvironment } from "../../schema/safe-git.ts";
import { isSecretName, shellEnvironment } from "./environment.ts";

test.each([
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_CUSTOM_HEADERS",
  "OPENAI_API_KEY",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "PALIMPSEST_TOKEN",
  "PALIMPSEST_GATEWAY_KEY",
  "PALIMPSEST_POSTGRES_URL",
  "GEMINI_API_KEY",
  "GOOGLE_API_KEY",
])("%s is not passed on", (name) => {
  expect(isSecretName(name)).toBe(true);
});

test.each(["PATH", "HOME", "EDITOR", "PALIMPSEST_HOME", "MONKEY", "GITHUB_TOKEN"])("%s is", (name) => {
  expect(isSecretName(name)).toBe(false);
});

test("only a read-only command loses the project's folders from its path", () => {
  const leading = { CDPATH: "/", PWD: "/q", GLOBIGNORE: "x", BASHOPTS: "dotglob" };
  const env = { PATH: "/p/bin:/usr/bin::.:rel:/pp", ...leading, X: undefined };
  const roots = ["/p"];
  expect(shellEnvironment({ env, roots, effect: "read-only" })).toEqual(safeGitEnvironment({ PATH: "/usr/bin:/pp" }));
  expect(shellEnvironment({ env, roots, effect: "unknown" })).toEqual({ PATH: env.PATH });
});

test("a read-only command gets no file that the shell runs first, and no function in the place of a program", () => {
  const env = {
    PATH: "/bin",
    BASH_ENV: "x",
    ENV: "y",
    "BASH_FUNC_ls%%": "() { evil; }",
    POSIXLY_CORRECT: "1",
    GIT_DIR: "z",
  };
  const passed = shellEnvironment({ env, roots: [], effect: "read-only" });
  expect(passed).toMatchObject({ PATH: "/bin", GIT_PAGER: "cat" });
  for (const name of Object.keys(env)) if (name !== "PATH") expect(passed).not.toHaveProperty([name]);
  expect(shellEnvironment({ env, roots: [], effect: "unknown" })).toEqual(env);
});
