/** The system's name of an error, such as `ENOENT`; undefined if it is not a system error. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** A system error as a message for the model. Any other error is a bug and is rethrown. */
export function describeRefusal(error: unknown, path: string): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return `${path}: ${textByCode.get(code) ?? code}`;
}

const textByCode: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "there is no such file or folder"],
  ["ENOTDIR", "a part of the path is a file, not a folder"],
  ["EISDIR", "this is a folder"],
  ["EACCES", "the system does not allow it"],
  ["EPERM", "the system does not allow it"],
  ["ELOOP", "symbolic links that lead in a circle, or one that has just been put there"],
  ["ENAMETOOLONG", "the name is too long"],
  ["ENOSPC", "no space left on the disk"],
  ["EROFS", "the file system is read-only"],
]);
