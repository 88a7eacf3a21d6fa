import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";

/**
 * An agent or a library from npm, and how to give it one task without a user: against any base URL, for as many rounds
 * as the model behind it calls tools.
 */
export interface RealClient {
  readonly name: string;
  /** Installed together, as `name@version`; the first one is the client. Versions are those that are known to work. */
  readonly packages: readonly [string, ...string[]];
  /** Versions of dependencies, if npm finds none by itself. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Whether its install script has to run. */
  readonly installScript: "needed" | "not needed";
  readonly api: "messages" | "responses" | "chat";
  /** One run per model; `default` is the client's choice. */
  readonly models: readonly [string, ...string[]];
  /** How its model runs a shell command. */
  readonly shellCall: (command: string, model: string) => ShellCall;
  /** `marked`: it marks the end of every request for caching, so each request reads what the one before it left. */
  readonly caching: "marked" | "not marked";
  /** The window, in tokens, behind which it compacts by itself in a few rounds; absent if it has no compaction. */
  readonly smallWindowTokens?: number;
  /** What it does if a stream breaks after its first byte. */
  readonly brokenStream: "tries again" | "gives up";
  /** What the real API refuses of what it sends, and what it does then. */
  readonly refusals?: readonly { readonly message: RegExp; readonly why: string }[];
  start(task: ClientTask): ClientStart;
  /** Parses what it wrote. */
  readAnswer(output: ClientOutput): ClientAnswer;
}

export interface ShellCall extends JsonObject {
  readonly name: string;
  readonly input: JsonObject;
}

export interface ClientTask {
  /** Without a path: `http://127.0.0.1:8787`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly prompt: string;
  readonly compaction: OwnCompaction;
}

/** `on`: its own compaction, for a window of this size. */
export type OwnCompaction = { readonly kind: "off" } | { readonly kind: "on"; readonly windowTokens: number };

export interface ClientStart {
  /** `driver`: a program of ours in `drivers/` that uses the library. */
  readonly program: { readonly kind: "bin" | "driver"; readonly name: string };
  readonly args: readonly string[];
  /** In addition to HOME and PATH; nothing else is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly ConfigFile[];
  /** Present if it is used in a pseudo-terminal. */
  readonly terminal?: TerminalTask;
}

export interface ConfigFile {
  readonly in: "home" | "work";
  readonly path: string;
  /** JSON, unless it is a text. */
  readonly content: (places: Places) => unknown;
}

export interface Places {
  readonly home: string;
  readonly work: string;
}

export interface TerminalTask {
  /** Shown when it takes input. */
  readonly ready: RegExp;
  readonly prompt: string;
  /** A file in its home that exists once the task has ended; it is the output that `readAnswer` gets. */
  readonly endFile: string;
  /** Typed at the end. */
  readonly exit: string;
}

export interface ClientOutput {
  readonly stdout: string;
  /** The file that a task in a terminal ends with. */
  readonly endFile: string;
}

export interface ClientAnswer {
  readonly text: string | undefined;
  /** Present if the client reports costs. */
  readonly costUsd?: number;
}

/** The version of the client that is known to work. */
export const knownVersion = ({ packages: [first] }: RealClient): string => first.slice(first.lastIndexOf("@") + 1);

export const clientPackage = ({ packages: [first] }: RealClient): string => first.slice(0, first.lastIndexOf("@"));
