"""What the Snakefile of a study's folder imports. Folders outlive versions: these names stay, wherever others move."""

from admmbench.files.installed import SNAKEFILE as SNAKEFILE
from admmbench.watch.configfiles import legible as legible
