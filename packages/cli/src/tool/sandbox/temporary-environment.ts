/**
 * Variables by which programs find the temporary folder of a command, and keep their caches in it: package managers write
 * theirs at every install, and those of the user can only be read inside.
 */
export const temporaryEnvironment = (folder: string): Readonly<Record<string, string>> => ({
  TMPDIR: folder,
  TMP: folder,
  TEMP: folder,
  npm_config_cache: `${folder}/cache/npm`,
  pnpm_config_store_dir: `${folder}/cache/pnpm`,
  YARN_CACHE_FOLDER: `${folder}/cache/yarn`,
  YARN_GLOBAL_FOLDER: `${folder}/cache/yarn-global`,
  GOCACHE: `${folder}/cache/go-build`,
});
