import type { MailboxAddress, Millis, TaskId } from "../schema/brand.ts";
import type { WriteFailure } from "./blobs.ts";

/** The task lists of teams. A list exists as soon as it has a task. */
export interface TaskLists {
  open(team: string): TaskList;
  /** With all its tasks; also if there is none. Must not reject. */
  remove(team: string): Promise<WriteFailure | undefined>;
}

/**
 * The tasks that a team shares, across processes. States of a task:
 *
 *   open ──assign──▶ assigned ──claim, by that agent──▶ claimed ──complete, by its owner──▶ done
 *   open ──claim, by any agent──▶ claimed
 *   assigned, claimed ──assign──▶ assigned       to another agent: its owner is gone, or the leader decides so
 *   assigned, claimed ──release──▶ open
 *
 * Two agents can't both claim a task. Each call may be repeated by an agent that was killed before it had the answer: what is
 * as it asks for already is a success. No call rejects.
 */
export interface TaskList {
  /** In the order in which they were created. */
  list(): Promise<readonly TeamTask[]>;
  create(draft: TaskDraft): Promise<CreateTaskOutcome>;
  assign(id: TaskId, to: MailboxAddress): Promise<ChangeTaskOutcome>;
  claim(id: TaskId, by: MailboxAddress): Promise<ChangeTaskOutcome>;
  /** Gives it back. */
  release(id: TaskId, by: MailboxAddress): Promise<ChangeTaskOutcome>;
  complete(id: TaskId, completion: TaskCompletion): Promise<ChangeTaskOutcome>;
}

export interface TeamTask {
  readonly id: TaskId;
  readonly subject: string;
  readonly description?: string | undefined;
  readonly createdBy: MailboxAddress;
  readonly createdAt: Millis;
  readonly state: "open" | "assigned" | "claimed" | "done";
  /** To whom it is assigned, by whom it is claimed or was done. */
  readonly owner?: MailboxAddress | undefined;
  readonly changedAt: Millis;
  /** What came of it. */
  readonly result?: string | undefined;
}

export interface TaskDraft {
  /** The caller's: the same for every try to create this task. */
  readonly id: TaskId;
  readonly subject: string;
  readonly description?: string | undefined;
  readonly createdBy: MailboxAddress;
}

export interface TaskCompletion {
  readonly by: MailboxAddress;
  readonly result?: string | undefined;
}

export type CreateTaskOutcome =
  | { readonly kind: "created"; readonly task: TeamTask }
  | { readonly kind: "full"; readonly message: string }
  | { readonly kind: "too-large"; readonly message: string }
  | WriteFailure;

export type ChangeTaskOutcome =
  | { readonly kind: "changed"; readonly task: TeamTask }
  | { readonly kind: "unknown-task"; readonly message: string }
  /** Another agent has it, or it is done. `task` is as it is now. */
  | { readonly kind: "taken"; readonly task: TeamTask; readonly message: string }
  | { readonly kind: "too-large"; readonly message: string }
  | WriteFailure;
