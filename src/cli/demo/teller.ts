import type { CommandContext } from "../command.ts";

/** What the demo says, and how often something did not come out as it said. */
export interface Teller {
  title(name: string, text: string): Promise<void>;
  say(line: string): Promise<void>;
  /** At a terminal only: in place of the one before, until something is said. */
  progress(line: string): Promise<void>;
  /** A claim with what it came to: said in red, and counted, where it is not so. */
  claim(claim: Claim): Promise<void>;
  surprises(): number;
}

export interface Claim {
  readonly label: string;
  readonly isSo: boolean;
  readonly text: string;
}

const labelColumns = 10;

export const labelled = (label: string, text: string): string => `${label.padEnd(labelColumns)}${text}`;

export function demoTeller({ out }: Pick<CommandContext, "out">): Teller {
  let steps = 0;
  let surprises = 0;
  const write = async (text: string): Promise<void> => {
    await out.progress("");
    await out.write(text);
  };
  return {
    title: (name, text) => {
      steps += 1;
      return write(`\n${out.style("bold", `${steps}  ${name}`)}  ${out.style("dim", text)}\n`);
    },
    say: (line) => write(`  ${line}\n`),
    progress: (line) => out.progress(line === "" ? "" : `  ${line}`),
    claim: ({ label, isSo, text }) => {
      surprises += isSo ? 0 : 1;
      const shown = isSo ? out.style("green", text) : out.style("red", `NOT SO: ${text}`);
      return write(`  ${labelled(label, shown)}\n`);
    },
    surprises: () => surprises,
  };
}
