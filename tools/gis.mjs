// Installs Debian's or Ubuntu's GDAL, R with sf, and PostGIS on this machine, which test/process/readers runs on exports. Needs root,
// or sudo without a password. Where they cannot be installed, it names the command and succeeds: these tests are then skipped.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const packages = ['gdal-bin', 'r-cran-sf', 'postgresql-postgis'];
const programs = [
  ['ogr2ogr', '--version'],
  ['Rscript', '-e', 'library(sf)'],
];

const succeeds = ([program, ...args], stdio = 'ignore') => spawnSync(program, args, { stdio }).status === 0;
const areHere = () => programs.every((words) => succeeds(words)) && existsSync('/usr/share/postgresql-common');

if (!areHere()) {
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '--non-interactive'];
  const env = ['env', 'DEBIAN_FRONTEND=noninteractive'];
  const install = ['apt-get', 'install', '--quiet', '--yes', '--no-install-recommends', ...packages];
  succeeds([...asRoot, 'apt-get', 'update', '--quiet']);
  succeeds([...asRoot, ...env, ...install], ['ignore', 'ignore', 'inherit']);
}
console.log(
  areHere()
    ? 'gis: GDAL, R with sf, and PostGIS are installed'
    : `!! gis: expected to install ${packages.join(', ')} with apt-get, as on Debian 12 or Ubuntu 24.04: install them as root\n!! The sums of GDAL and R, the recipes for PostGIS, GeoPackage and R, and the notebook in R are skipped.`,
);
