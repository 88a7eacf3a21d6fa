import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal.ts";

/** A terminal that ends with the test, whatever becomes of it. Without a folder it gets an empty one of its own. */
export function testTerminal(options: Omit<TerminalOptions, "cwd"> & { readonly cwd?: string }): Terminal {
  const terminal = openTerminal({ cwd: mkdtempSync(join(tmpdir(), "terminal-")), ...options });
  onTestFinished(() => terminal.close());
  return terminal;
}
