/**
 * What the operating system lets one command do. `read-only`: it writes nothing but a private temporary folder, reaches
 * no network and sees no secrets. `workspace`: it also writes in the project. `none`: it runs outside the sandbox.
 */
export type SandboxStrength = "read-only" | "workspace" | "none";

/** The operating system's way to confine a program. It knows nothing of permission rules: the limits are passed in. */
export interface Sandbox {
  readonly system: "bubblewrap" | "seatbelt";
  /** Must not reject: a start that can't be made inside the sandbox is refused with a reason, never made outside it. */
  enter(start: ProgramStart, limits: SandboxLimits): Promise<SandboxEntry>;
}

export interface ProgramStart {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** All paths are absolute and real. The limits also apply to paths that do not exist: they can't be created. */
export interface SandboxLimits {
  readonly strength: Exclude<SandboxStrength, "none">;
  /** Folders that may be written. Empty when the strength is `read-only`. */
  readonly writable: readonly string[];
  /** Inside writable folders: can be read, but not changed, created, renamed or replaced. */
  readonly protected: readonly string[];
  /** Files and folders that can be neither read nor written, by any program. */
  readonly hidden: readonly string[];
  /** Inside hidden folders: can be read nevertheless. */
  readonly shown: readonly string[];
  /** The session's own folder, which the command sees as its temporary folder. Survives from command to command. */
  readonly temporary: string;
  readonly network: SandboxNetwork;
}

export type SandboxNetwork =
  | { readonly kind: "off" }
  /** Only hosts that a proxy outside the sandbox lets through. */
  | { readonly kind: "proxy"; readonly way: ProxyRoute }
  | { readonly kind: "open" };

/** How a program inside the sandbox reaches the proxy. */
type ProxyRoute =
  /** Through two pipes in a folder, if the sandbox has a network of its own. */
  | { readonly kind: "pipes"; readonly folder: string }
  /** At a loopback port, if the sandbox shares the machine's network. `url` contains the proxy's credentials. */
  | { readonly kind: "loopback"; readonly port: number; readonly url: string };

export type SandboxEntry =
  | {
      readonly kind: "ready";
      readonly start: ProgramStart;
      /** Removes what the start left on disk. To be called once, after the program has ended. Must not reject. */
      readonly leave: () => Promise<void>;
    }
  | { readonly kind: "refused"; readonly why: string };

/** How commands run in a session: follows from the setting `sandbox` and from what the machine has. */
export type SandboxUse =
  | { readonly kind: "held"; readonly sandbox: Sandbox }
  /** Every command runs with the strength `none`: the user turned the sandbox off, or there is none here. */
  | { readonly kind: "unheld"; readonly because: "off" }
  | { readonly kind: "unheld"; readonly because: "absent"; readonly why: string; readonly remedy: string }
  /** No command runs: the user requires a sandbox, and there is none here. */
  | { readonly kind: "refused"; readonly why: string; readonly remedy: string };

/** What was found on this machine. `why` and `remedy` are shown to the user, one line each. */
export type SandboxSearchOutcome =
  | { readonly kind: "found"; readonly sandbox: Sandbox }
  | { readonly kind: "none"; readonly why: string; readonly remedy: string };
