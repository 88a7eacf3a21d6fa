/** An agent as it comes from npm, and how it is asked one question without a terminal. */
export interface RealClient {
  readonly name: string;
  readonly package: string;
  /** The version that was seen to work; the command line may ask for another. */
  readonly version: string;
  readonly program: string;
  /** Whether it works only once its own install script has run. */
  readonly installScript: "needed" | "not needed";
  /** Each is a run of its own; `default` is the client's choice. */
  readonly models: readonly string[];
  command(place: Place): Command;
  /** What it says on stdout at the end. */
  told(stdout: string): Told;
}

export interface Place {
  /** Of the simulator. */
  readonly url: string;
  readonly model: string;
  readonly prompt: string;
}

export interface Command {
  readonly args: readonly string[];
  /** Beside HOME and PATH: nothing else is inherited. */
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
  /** Where the client counts money itself. */
  readonly costUsd?: number;
}
