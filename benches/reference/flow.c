/* One end of a flow, as an ordinary program: blocking calls, and samples of TCP_INFO by a timer of its own.
 *
 * flow offload DEVICE...                        turns segmentation and receive offloads of devices off, as ethtool -K
 * flow at SECONDS COMMAND...                    runs a command at a time
 * flow serve PORT ALGORITHM BUFFER KEEP         accepts one connection, and reads
 * flow send HOST PORT ALGORITHM START SIZE WRITE PERIOD ON OFF END FILE
 *                                               connects at START, and writes SIZE bytes (0: until the end)
 *
 * Times are in seconds after ORIGIN, a time of CLOCK_MONOTONIC. With PERIOD, the client writes WRITE bytes each PERIOD,
 * and with ON, it pauses for OFF seconds after every ON seconds. A server with KEEP always leaves KEEP bytes unread, and
 * wakes for each 64 KiB; a server without KEEP reads at once. A client's send buffer is the kernel's, or has SNDBUF bytes.
 * At END, the client writes its samples to FILE.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STEP_S 0.02
#define CHUNK (128 << 10)
#define READ (64 << 10)

static double origin_s, end_s, done_s = -1, started_s = -1;
static int connected = -1;
static const char *file;
static char chunk[CHUNK];

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec + at.tv_nsec * 1e-9 - origin_s;
}

static void sleep_until(double at_s)
{
	double whole = floor(origin_s + at_s);
	struct timespec at = { whole, (origin_s + at_s - whole) * 1e9 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Samples the connection until the end, then writes all samples and ends the program. */
static void *sample(void *unused)
{
	int most = end_s / STEP_S + 1.5;
	struct tcp_info *infos = calloc(most, sizeof *infos);
	FILE *out;

	(void)unused;
	for (int k = 0; k < most; k++) {
		socklen_t size = sizeof *infos;

		sleep_until(k * STEP_S);
		if (connected >= 0)
			getsockopt(connected, IPPROTO_TCP, TCP_INFO, &infos[k], &size);
	}
	check(!(out = fopen(file, "w")), file);
	fprintf(out, "%.9f %.9f\n", started_s, done_s);
	for (int k = 0; k < most; k++)
		fprintf(out, "%.3f %u %u %u %llu %u %u %u %u\n", k * STEP_S, infos[k].tcpi_snd_cwnd, infos[k].tcpi_snd_ssthresh,
			infos[k].tcpi_rtt, (unsigned long long)infos[k].tcpi_bytes_acked,
			infos[k].tcpi_sacked, infos[k].tcpi_total_retrans, infos[k].tcpi_snd_wnd,
			infos[k].tcpi_snd_mss);
	fclose(out);
	exit(0);
}

static void begin_samples(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, sample, NULL), "pthread_create");
}

static int serve(char **word)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(atoi(word[0])) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), buffer = atoi(word[2]), keep = atoi(word[3]), lowat = READ;

	check(setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, word[1], strlen(word[1])), word[1]);
	if (buffer)
		check(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer), "SO_RCVBUF");
	check(bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 1), "listen");
	check((connected = accept(listener, NULL, NULL)) < 0, "accept");
	if (keep)
		check(setsockopt(connected, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof lowat), "SO_RCVLOWAT");
	while (read(connected, chunk, keep ? READ - keep : CHUNK) > 0)
		;
	return 0;
}

static void put(long long bytes)
{
	while (bytes > 0) {
		ssize_t part = write(connected, chunk, bytes < CHUNK ? bytes : CHUNK);

		check(part < 0, "write");
		bytes -= part;
	}
}

static int send_flow(char **word)
{
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons(atoi(word[1])) };
	const char *sized = getenv("SNDBUF");
	int mine = socket(AF_INET, SOCK_STREAM, 0), left, buffer = sized ? atoi(sized) : 0;
	long long size = atoll(word[4]), piece = atoll(word[5]);
	double start_s = atof(word[3]), period_s = atof(word[6]), on_s = atof(word[7]), off_s = atof(word[8]);

	end_s = atof(word[9]);
	file = word[10];
	inet_pton(AF_INET, word[0], &there.sin_addr);
	check(setsockopt(mine, IPPROTO_TCP, TCP_CONGESTION, word[2], strlen(word[2])), word[2]);
	if (buffer)
		check(setsockopt(mine, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer), "SO_SNDBUFFORCE");
	begin_samples();
	sleep_until(start_s);
	started_s = now();
	check(connect(mine, (struct sockaddr *)&there, sizeof there), "connect");
	connected = mine;
	if (size) {
		put(size);
		while (ioctl(mine, SIOCOUTQ, &left) == 0 && left > 0)
			usleep(500);
		done_s = now();
	} else if (period_s > 0) {
		double at_s = start_s;

		for (long k = 0;; k++) {
			double clock_s = k * period_s;

			at_s = start_s + clock_s + (on_s > 0 ? floor(clock_s / on_s + 1e-9) * off_s : 0);
			sleep_until(at_s);
			put(piece);
		}
	} else {
		for (;;)
			put(CHUNK);
	}
	pause();
	return 0;
}

static int offload(char **devices)
{
	unsigned commands[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
	int any = socket(AF_INET, SOCK_DGRAM, 0);

	for (; *devices; devices++) {
		for (unsigned k = 0; k < sizeof commands / sizeof *commands; k++) {
			struct ethtool_value off = { commands[k], 0 };
			struct ifreq request = { .ifr_data = (void *)&off };

			strncpy(request.ifr_name, *devices, IFNAMSIZ - 1);
			check(ioctl(any, SIOCETHTOOL, &request), *devices);
		}
	}
	return 0;
}

int main(int count, char **word)
{
	const char *origin = getenv("ORIGIN");

	origin_s = origin ? atof(origin) : 0;
	if (count > 2 && !strcmp(word[1], "offload"))
		return offload(word + 2);
	if (count > 3 && !strcmp(word[1], "at")) {
		sleep_until(atof(word[2]));
		execvp(word[3], word + 3);
		check(1, word[3]);
	}
	if (count == 6 && !strcmp(word[1], "serve"))
		return serve(word + 2);
	if (count == 13 && !strcmp(word[1], "send"))
		return send_flow(word + 2);
	fprintf(stderr, "flow: see the head of flow.c\n");
	return 2;
}
