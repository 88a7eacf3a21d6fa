/** Both real paths. A root contains itself. */
export const isInside = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);

export const isInsideAny = (path: string, roots: readonly string[]): boolean =>
  roots.some((root) => isInside(path, root));

/** Not files but windows into processes and devices: `/proc/self/environ` holds this process's secrets. */
const specialFolders: readonly string[] = ["/proc", "/dev", "/sys"];

export const isSpecial = (path: string): boolean => isInsideAny(path, specialFolders);
