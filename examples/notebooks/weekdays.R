# Trips per day and the modal split by weekday, with weights and 95 % intervals, and a map, in R with sf (base R otherwise).
# Reads exports (`mobility export --all --format csv --out study-csv`, and the same with `--format geojson`):
# `Rscript weekdays.R study-csv study-geojson weekdays.svg`. In RStudio, set the three paths and run it line by line.
suppressPackageStartupMessages(library(sf))
arguments <- commandArgs(trailingOnly = TRUE)
study <- arguments[1]
maps <- arguments[2]
picture <- arguments[3]

# One row a day, also for days without a trip: only days as a member count, by the part of them that was observed.
days <- read.csv(file.path(study, 'days.csv'))
days <- days[days$membership == 'member' & days$observed_s > 0, ]
sections <- st_read(file.path(maps, 'sections.geojson'), quiet = TRUE)
trips <- read.csv(file.path(study, 'trips.csv'))
sections$weekday <- trips$weekday[match(sections$trip_id, trips$trip_id)]

# Weights by person: the column `weight` of people.csv, 1 without one.
people <- read.csv(file.path(study, 'people.csv'))
if (is.null(people$weight)) people$weight <- 1
weight_of <- function(user_ids) people$weight[match(user_ids, people$user_id)]

# The days of one person resemble each other: an interval draws people with replacement, not days.
set.seed(1)
draws <- replicate(1000, sample(people$user_id, replace = TRUE), simplify = FALSE)
interval <- function(by_person) {
  ratios <- sapply(draws, function(drawn) {
    rows <- by_person[match(drawn, by_person$user_id), ]
    sum(rows$above, na.rm = TRUE) / sum(rows$below, na.rm = TRUE)
  })
  c(sum(by_person$above) / sum(by_person$below), quantile(ratios, c(0.025, 0.975), na.rm = TRUE))
}

days$above <- weight_of(days$user_id) * days$trips
days$below <- weight_of(days$user_id) * days$observed_s / 86400
rates <- t(sapply(sort(unique(days$weekday)), function(weekday)
  c(weekday, interval(aggregate(cbind(above, below) ~ user_id, days[days$weekday == weekday, ], sum)))))
colnames(rates) <- c('weekday', 'trips_per_day', 'low', 'high')
print(as.data.frame(round(rates, 2)), row.names = FALSE)

# Shares of the kilometres by weekday, and their intervals over the whole week.
sections$km <- weight_of(sections$user_id) * sections$distance_m / 1000
km <- xtabs(km ~ weekday + mode, sections)
print(round(prop.table(km, 1), 3))
by_person <- as.data.frame.matrix(xtabs(km ~ user_id + mode, sections))
shares <- t(sapply(by_person, function(column)
  interval(data.frame(user_id = rownames(by_person), above = column, below = rowSums(by_person)))))
colnames(shares) <- c('share', 'low', 'high')
print(round(shares, 3))

# The sections on a map, beside the shares. Colours that colour-blind people tell apart (Okabe and Ito 2008).
colours <- c('#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#999999')
colour_of <- setNames(rep_len(colours, ncol(km)), colnames(km))
svg(picture, width = 10, height = 4)
par(mfrow = c(1, 2), mar = c(3, 4, 2, 1))
barplot(t(prop.table(km, 1)), col = colour_of, ylab = 'share of kilometres', legend.text = TRUE, args.legend = list(cex = 0.7))
plot(st_geometry(sections), col = colour_of[sections$mode], axes = TRUE, main = paste(nrow(sections), 'sections'))
invisible(dev.off())
