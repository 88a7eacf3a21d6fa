import { describe, expect, test } from "vitest";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git-environment";
import { toolbox } from "../../../../../test/fixture/toolbox.ts";
import { hookEnvironment } from "../hooks/hook-process.ts";
import { parseRules } from "../permission/rule.ts";
import { findRuleProblems, createMayPass } from "../permission/create-permit.ts";
import { isSecret, shellEnvironment } from "./shell-environment.ts";

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
  "GITHUB_TOKEN",
  "GH_TOKEN",
  "NPM_TOKEN",
  "npm_config__authToken",
  "STRIPE_SECRET_KEY",
  "CLIENT_SECRET",
  "JWT_SECRET",
  "TOKEN",
  "SECRET",
  "PASSWORD",
  "PGPASSWORD",
  "DB_PASSWORD",
  "DB_PASSWD",
  "DB_PASS",
  "MYSQL_PWD",
  "GPG_PASSPHRASE",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "SENTRY_DSN",
  "AZURE_DEVOPS_EXT_PAT",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
  "AWS_BEARER_TOKEN_BEDROCK",
  "AZURE_STORAGE_CONNECTION_STRING",
  "SLACK_WEBHOOK_URL",
  "SSH_AUTH_SOCK",
  "SSH_ASKPASS",
  "GIT_ASKPASS",
  "VSCODE_GIT_IPC_HANDLE",
  "DBUS_SESSION_BUS_ADDRESS",
])("%s is not passed on", (name) => {
  expect(isSecret(name, "x")).toBe(true);
});

test.each([
  "PATH",
  "HOME",
  "EDITOR",
  "PALIMPSEST_HOME",
  "MONKEY",
  "PWD",
  "OLDPWD",
  "INIT_CWD",
  "AWS_REGION",
  "AWS_PROFILE",
  "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
  "SSH_CONNECTION",
  "KEYBOARD",
  "TOKENIZERS_PARALLELISM",
])("%s is", (name) => {
  expect(isSecret(name, "x")).toBe(false);
});

test.each([
  ["DATABASE_URL", "postgres://me:secret@db/x", true],
  ["DATABASE_URL", "postgres://db/x", false],
  ["REDIS_URL", "redis://:secret@cache", true],
  ["MONGODB_URI", "mongodb+srv://me:secret@db/x", true],
  ["HTTPS_PROXY", "http://me:secret@proxy:80", true],
  ["HTTPS_PROXY", "http://proxy:80", false],
  ["HOMEPAGE_URL", "https://example.org/a:b@c", false],
])("%s=%s is a secret: %s", (name, value, expected) => {
  expect(isSecret(name, value)).toBe(expected);
});

const all = (): boolean => true;

test("only a read-only command loses the project's folders from its path", () => {
  const leading = { CDPATH: "/", PWD: "/q", GLOBIGNORE: "x", BASHOPTS: "dotglob" };
  const env = { PATH: "/p/bin:/usr/bin::.:rel:/pp", ...leading, X: undefined };
  const roots = ["/p"];
  expect(shellEnvironment({ env, roots, effect: "read-only", mayPass: all })).toEqual(
    safeGitEnvironment({ PATH: "/usr/bin:/pp" }),
  );
  expect(shellEnvironment({ env, roots, effect: "unknown", mayPass: all })).toEqual({ PATH: env.PATH });
});

describe("rules about variables", () => {
  const names = ["GITHUB_TOKEN", "NPM_TOKEN", "CI_JOB", "CI_USER", "LANG"];
  const passed = (rules: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }) => {
    const mayPass = createMayPass(parseRules(rules).rules);
    return names.filter((name) => mayPass(name, "x"));
  };

  test.each([
    [{}, ["CI_JOB", "CI_USER", "LANG"]],
    [{ allow: ["Env(GITHUB_TOKEN)"] }, ["GITHUB_TOKEN", "CI_JOB", "CI_USER", "LANG"]],
    [{ allow: ["env(*_TOKEN)"] }, names],
    [{ allow: ["Env(github_token)"] }, ["CI_JOB", "CI_USER", "LANG"]],
    [{ allow: ["Env(TOKEN)"] }, ["CI_JOB", "CI_USER", "LANG"]],
    [{ deny: ["Env(CI_*)"] }, ["LANG"]],
    [{ deny: ["Env(ci_*)"] }, ["LANG"]],
    [{ allow: ["Env(GITHUB_TOKEN)"], deny: ["Env(GITHUB_*)"] }, ["CI_JOB", "CI_USER", "LANG"]],
  ] as const)("%j passes %j", (rules, expected) => {
    expect(passed(rules)).toEqual(expected);
  });

  test.each([
    ["allow", "Env"],
    ["allow", "Env(*)"],
    ["allow", "Env(A B)"],
    ["ask", "Env(A_KEY)"],
    ["deny", "Env(A=1)"],
  ] as const)("in %s, %s is no rule", (use, rule) => {
    const problems = findRuleProblems({ [use]: [rule] });
    expect(problems.map(({ what }) => what.split(";", 1)[0])).toEqual([`${rule}: not a rule`]);
  });
});

test("a command sees no secrets but those that a rule passes, and says which it missed when it fails", async () => {
  const env = { PATH: process.env["PATH"], GITHUB_TOKEN: "ghs", NPM_TOKEN: "npm", PLAIN: "plain" };
  const box = await toolbox({ env, allow: ["Env(NPM_TOKEN)"], deny: ["Env(PLAIN)"] });
  const said = async (command: string): Promise<string> => (await box.call("bash", { command })).text;
  expect(await said('echo "[$GITHUB_TOKEN][$NPM_TOKEN][$PLAIN]"')).toBe("[][npm][]");
  expect(await said("env | grep -c ghs || true")).toBe("0");
  expect(await said("echo 'set GITHUB_TOKEN first'; exit 4")).toBe(
    "set GITHUB_TOKEN first\n[exit code 4]\n[GITHUB_TOKEN is not in the environment of commands; a rule Env(GITHUB_TOKEN) in permissions.allow would pass it]",
  );
  expect(await said('test -n "$PLAIN"')).toContain("[PLAIN is not in the environment of commands");
  expect(await said("echo GITHUB_TOKEN_X; exit 4")).toBe("GITHUB_TOKEN_X\n[exit code 4]");
});

test("hooks, which are the user's own, see all but the keys of this program", () => {
  const env = { GITHUB_TOKEN: "x", ANTHROPIC_API_KEY: "y", SSH_AUTH_SOCK: "z" };
  expect(hookEnvironment({ env, projectRoot: "/p" })).toMatchObject({ GITHUB_TOKEN: "x", SSH_AUTH_SOCK: "z" });
  expect(hookEnvironment({ env, projectRoot: "/p" })).not.toHaveProperty("ANTHROPIC_API_KEY");
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
  const passed = shellEnvironment({ env, roots: [], effect: "read-only", mayPass: all });
  expect(passed).toMatchObject({ PATH: "/bin", GIT_PAGER: "cat" });
  for (const name of Object.keys(env)) if (name !== "PATH") expect(passed).not.toHaveProperty([name]);
  expect(shellEnvironment({ env, roots: [], effect: "unknown", mayPass: all })).toEqual(env);
});
