/** An agent of this home that a user can look at, write to or end. */
export interface ListedAgent {
  readonly kind: "leader" | "teammate" | "session" | "sub-agent";
  /** What messages are sent to. */
  readonly address: string;
  /**
   * Of a member: `starting` to `died`, which means that its process is gone without having left. Of a session: `open`. Of a
   * sub-agent: `running`, `ended`, or `lost` with an earlier process of its session.
   */
  readonly state: "starting" | "working" | "idle" | "stopped" | "died" | "open" | "running" | "ended" | "lost";
  /** Undefined if none runs on this machine. */
  readonly pid: number | undefined;
  /** Of a sub-agent: the session that has started it. */
  readonly session: string | undefined;
  /** Undefined if there is none yet. */
  readonly transcript: string | undefined;
  readonly project: string | undefined;
  /** Of a sub-agent: its name in the session, its type and its task in a few words. Undefined if they are not on record. */
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  readonly description?: string | undefined;
}
