import { mkdirSync, mkdtempSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";

/** Every test file gets an empty home of its own: no test reads or writes the real one. */
const home = mkdtempSync(join(inject("runFolder"), "home-"));
const palimpsestHome = join(home, ".palimpsest");
const temp = join(home, "tmp");
mkdirSync(temp);

Object.assign(process.env, {
  HOME: home,
  USERPROFILE: home,
  PALIMPSEST_HOME: palimpsestHome,
  TMPDIR: temp,
  TEMP: temp,
  TMP: temp,
});
for (const name of Object.keys(process.env)) if (name.startsWith("XDG_")) delete process.env[name];

if (homedir() !== home) throw new Error(`the test's home is ${homedir()}, not ${home}`);
