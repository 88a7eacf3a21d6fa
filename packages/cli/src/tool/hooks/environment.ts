import { type Environment, isOwnSecret, shellEnvironment } from "../shell/environment.ts";

export interface HookSurroundings {
  /** Of this process. */
  readonly env: Environment;
  readonly projectRoot: string;
}

/** What commands of a person's settings see: no keys by which we reach models and stores, and where the project is. */
export const hookEnvironment = ({ env, projectRoot }: HookSurroundings): Readonly<Record<string, string>> => ({
  ...shellEnvironment({ env, effect: "unknown", roots: [], mayPass: (name) => !isOwnSecret(name) }),
  PALIMPSEST_PROJECT_DIR: projectRoot,
  CLAUDE_PROJECT_DIR: projectRoot,
});
