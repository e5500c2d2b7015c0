/* Reads sales.csv, adds up each region, writes a compressed report. Uses zlib. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_REGIONS 16

struct region {
  char name[32];
  double total;
};

static struct region *find(struct region *regions, int *count, const char *name) {
  for (int i = 0; i < *count; i++)
    if (strcmp(regions[i].name, name) == 0) return &regions[i];
  if (*count == MAX_REGIONS) exit(3);
  struct region *made = &regions[(*count)++];
  snprintf(made->name, sizeof made->name, "%s", name);
  made->total = 0;
  return made;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct region *)a)->name, ((const struct region *)b)->name);
}

int main(void) {
  FILE *sales = fopen("sales.csv", "r");
  if (sales == NULL) {
    fprintf(stderr, "sales.csv: %s\n", strerror(errno));
    return 2;
  }
  struct region regions[MAX_REGIONS];
  int count = 0;
  char line[256], name[32];
  double amount;
  fgets(line, sizeof line, sales);
  while (fgets(line, sizeof line, sales) != NULL)
    if (sscanf(line, "%31[^,],%lf", name, &amount) == 2) find(regions, &count, name)->total += amount;
  fclose(sales);
  qsort(regions, count, sizeof regions[0], by_name);

  gzFile report = gzopen("report-c.txt.gz", "wb");
  for (int i = 0; i < count; i++) {
    gzprintf(report, "%s %.2f\n", regions[i].name, regions[i].total);
    printf("%s %.2f\n", regions[i].name, regions[i].total);
  }
  return gzclose(report) == Z_OK ? 0 : 4;
}
