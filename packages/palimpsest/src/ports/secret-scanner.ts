import type { SecretFinding } from "../text/find-secrets.ts";

/** Finds keys, tokens and passwords in a text before it is written where it stays. */
export interface SecretScanner {
  /**
   * Sorted by position, without overlaps. Must not reject and must end within a bounded time: a scanner that fails
   * returns what the rules of `findSecrets` find.
   */
  scan(text: string): Promise<readonly SecretFinding[]>;
}

export interface SecretScannerDep {
  readonly secrets: SecretScanner;
}
