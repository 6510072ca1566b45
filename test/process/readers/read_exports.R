# Prints the sum of each column of an export as R's sf reads it: `Rscript read_exports.R FOLDER TABLE COLUMN...`, one line for each
# format. FOLDER holds csv, geojson and jsonl; geojson and jsonl are read only if the table has a geometry.
suppressPackageStartupMessages(library(sf))
arguments <- commandArgs(trailingOnly = TRUE)
table <- arguments[2]
for (format in c('csv', 'geojson', 'jsonl')) {
  file <- file.path(arguments[1], format, paste0(table, '.', format))
  if (format != 'csv' && !file.exists(file.path(arguments[1], 'geojson', paste0(table, '.geojson')))) next
  options <- if (format == 'csv') 'AUTODETECT_TYPE=YES' else character(0)
  rows <- suppressWarnings(as.data.frame(st_read(file, options = options, quiet = TRUE)))
  sums <- sapply(arguments[-(1:2)], function(column) sum(rows[[column]], na.rm = TRUE))
  cat(format, format(sums, digits = 17, trim = TRUE), '\n')
}
