/** An agent from npm, and how to ask it one question without a terminal. */
export interface RealClient {
  readonly name: string;
  readonly package: string;
  /** The version that is known to work; the command line may request another. */
  readonly version: string;
  readonly program: string;
  /** Whether its install script has to run. */
  readonly installScript: "needed" | "not needed";
  /** One run per model; `default` is the client's choice. */
  readonly models: readonly string[];
  command(place: Place): Command;
  /** Parses its output. */
  told(stdout: string): Told;
}

export interface Place {
  /** URL of the simulator. */
  readonly url: string;
  readonly model: string;
  readonly prompt: string;
}

export interface Command {
  readonly args: readonly string[];
  /** In addition to HOME and PATH; nothing else is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly ConfigFile[];
}

export interface ConfigFile {
  readonly in: "home" | "work";
  readonly path: string;
  readonly content: unknown;
}

export interface Told {
  readonly answer: string | undefined;
  /** Present if the client reports costs. */
  readonly costUsd?: number;
}
