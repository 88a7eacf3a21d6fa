/** A uuid of version 8, the one whose bits are the maker's own: the same for everyone who hashes the same. */
export const uuidOfHash = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
