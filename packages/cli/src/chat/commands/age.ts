/** How long something is or has been, in one unit: `5 s`, `3 min`, `2 h`, `4 d`. */
export function humanAge(ageMillis: number): string {
  const seconds = Math.max(0, Math.floor(ageMillis / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
