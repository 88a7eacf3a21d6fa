import { expect, test } from "vitest";
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
  expect(shellEnvironment({ env, roots, effect: "read-only" })).toEqual({ PATH: "/usr/bin:/pp" });
  expect(shellEnvironment({ env, roots, effect: "unknown" })).toEqual({ PATH: env.PATH });
});
