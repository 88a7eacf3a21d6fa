import { expect, test } from "vitest";
import { needsNetwork } from "./needs-network.ts";

test.each([
  "npm ci",
  "cd app && npm --silent install left-pad 2>&1 | tail -3",
  "yarn",
  "yarn add x",
  "git -C sub --no-pager fetch origin",
  "git clone https://a.org/x",
  "timeout 60 pip install -r requirements.txt",
  "python3 -m pip install x",
  ".venv/bin/python3.12 -m pip download x",
  "bash -c 'curl -s https://a.org'",
  "FOO=1 env BAR=2 cargo test",
  "for x in a b; do wget $x; done",
  "echo $(curl -s https://a.org)",
  "./gradlew build",
  "sudo npx create-x",
])("%s gets a way to the proxy", (command) => {
  expect(needsNetwork(command)).toBe(true);
});

test.each([
  "npm test",
  "npm run build",
  "yarn test",
  "git status",
  "git commit -m 'npm ci'",
  "git log --oneline",
  "node server.js",
  "python3 -m pytest",
  "python3 install.py",
  "ls curl",
  "cat git fetch",
  "make",
  "$TOOL install",
  "",
])("%s does not", (command) => {
  expect(needsNetwork(command)).toBe(false);
});
