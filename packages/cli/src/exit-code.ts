/** What the process's exit code says. Scripts rely on these numbers: none changes its meaning. */
export const exitCode = {
  fine: 0,
  negative: 1,
  usage: 2,
  notFound: 3,
  busy: 4,
  refused: 5,
  machine: 6,
  bug: 70,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

export const meaningByExitCode: { readonly [Code in ExitCode]: string } = {
  0: "fine",
  1: "the command ran and found damage, or the answer is no",
  2: "the command line was not understood",
  3: "not found: no such session, file, entry or id",
  4: "busy: another process holds the session",
  5: "refused: it would break a rule or go over a limit",
  6: "the machine refused: disk full, no permission, broken file system",
  70: "a bug in palimpsest",
};
