package io.paimonwriter.coordinator;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.security.CodeSource;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

import javax.annotation.Nullable;

/**
 * Loads the native library, once for each class loader.
 *
 * <p>The JVM refuses to load one file for two class loaders, and a session cluster has one class
 * loader for each job; so every class loader loads a copy of its own, which is deleted as soon as
 * it is loaded where the operating system allows that.
 */
public final class NativeLibrary {

    /** System property: path of a library file to use in place of the one in the jar. */
    static final String LIBRARY_PROPERTY = "paimon.writer.coordinator.library";

    /** Environment variable with the same meaning; the system property comes first. */
    static final String LIBRARY_VARIABLE = "PAIMON_WRITER_COORDINATOR_LIBRARY";

    /** System property: directory for the copy; the JVM's temp directory if it is not set. */
    static final String TEMP_DIRECTORY_PROPERTY = "paimon.writer.coordinator.tmpdir";

    /** Environment variable with the same meaning; the system property comes first. */
    static final String TEMP_DIRECTORY_VARIABLE = "PAIMON_WRITER_COORDINATOR_TMPDIR";

    /** What the jar of a release has a library for; a jar built on one machine has fewer. */
    private static final List<String> PLATFORMS =
            List.of("linux-x86_64", "linux-aarch64", "macos-x86_64", "macos-aarch64");

    private static final String NAME_A_LIBRARY =
            String.format("-D%s=<file> (or %s)", LIBRARY_PROPERTY, LIBRARY_VARIABLE);

    private static boolean loaded;
    @Nullable private static String failure;
    private static String description = "not loaded";

    private NativeLibrary() {}

    /**
     * Loads the library if this class loader has not loaded it yet.
     *
     * @throws CoordinatorException if it cannot be found, copied or loaded; the text says what was
     *     looked for and what to do, and is the same for every later call
     */
    public static synchronized void load() {
        if (loaded) {
            return;
        }
        if (failure != null) {
            throw new CoordinatorException(failure);
        }
        try {
            String osName = System.getProperty("os.name");
            loadCopy(
                    platform(osName, System.getProperty("os.arch")),
                    osName.equals("Linux") && isMusl(Paths.get("/proc/self/maps")));
            loaded = true;
        } catch (CoordinatorException e) {
            failure = e.getMessage();
            throw e;
        }
    }

    /** Platform, origin, size and hash of the library that is loaded. */
    static synchronized String describe() {
        return description;
    }

    private static void loadCopy(String platform, boolean musl) {
        Setting library = Setting.find(LIBRARY_PROPERTY, LIBRARY_VARIABLE, System.getenv());
        Setting named =
                Setting.find(TEMP_DIRECTORY_PROPERTY, TEMP_DIRECTORY_VARIABLE, System.getenv());
        File directory =
                new File(named != null ? named.value : System.getProperty("java.io.tmpdir"));
        String origin =
                "the directory " + directory + (named != null ? ", " + named.origin + "," : "");
        File copy = null;
        try (InputStream in = library != null ? open(library) : open(platform, musl)) {
            copy = File.createTempFile("paimon_writer_coordinator", suffix(platform), directory);
            Files.copy(in, copy.toPath(), StandardCopyOption.REPLACE_EXISTING);
            byte[] bytes = Files.readAllBytes(copy.toPath());
            System.load(copy.getAbsolutePath());
            description =
                    String.format(
                            "%s (%s, %d bytes, SHA-256 %s)",
                            library != null ? library.value : jar() + "!/" + resourceName(platform),
                            platform,
                            bytes.length,
                            sha256(bytes));
        } catch (IOException | SecurityException e) {
            throw failure(
                    String.format("it could not be copied to %s: %s", origin, e),
                    nameADirectory("that exists and can be written to"),
                    e);
        } catch (UnsatisfiedLinkError e) {
            String what =
                    library != null ? library.toString() : "the jar's " + resourceName(platform);
            throw refusal(copy, what, origin, e);
        } finally {
            // Windows keeps a loaded file; there the copy stays until somebody cleans the temp
            // directory. Deleting it at the exit of the JVM would keep its name in memory for ever.
            if (copy != null) {
                copy.delete();
            }
        }
    }

    private static String jar() {
        CodeSource source = NativeLibrary.class.getProtectionDomain().getCodeSource();
        return source == null || source.getLocation() == null
                ? "the jar"
                : source.getLocation().getPath();
    }

    private static String sha256(byte[] bytes) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
            // With nothing but the JDK: Pwc loads the library without Flink.
            return String.format("%064x", new BigInteger(1, digest));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }

    private static InputStream open(Setting library) throws IOException {
        File file = new File(library.value);
        if (!file.isFile()) {
            throw failure(
                    String.format("%s does not exist or is no file", library),
                    "correct the path, or remove the setting to use the library in the jar",
                    null);
        }
        return new FileInputStream(file);
    }

    /** The dynamic linker's own words for a missing or another libc are no help to anybody. */
    static InputStream open(String platform, boolean musl) {
        ClassLoader jar = NativeLibrary.class.getClassLoader();
        if (musl) {
            throw failure(
                    "this JVM runs on musl, as on Alpine, and the jar's library needs glibc",
                    "run Flink on an image with glibc from 2.17 on, such as Flink's own, or build"
                            + " the library for musl and name it with "
                            + NAME_A_LIBRARY,
                    null);
        }
        InputStream resource = jar.getResourceAsStream(resourceName(platform));
        if (resource == null) {
            throw failure(
                    String.format(
                            "the jar holds no %s; it holds libraries for %s",
                            resourceName(platform),
                            PLATFORMS.stream()
                                    .filter(other -> jar.getResource(resourceName(other)) != null)
                                    .collect(Collectors.toList())),
                    "use a jar that holds this platform, or build the library and name it with "
                            + NAME_A_LIBRARY,
                    null);
        }
        return resource;
    }

    /** Name of a platform as the folders in the jar have it, such as linux-x86_64. */
    static String platform(String osName, String osArch) {
        String os = osName.toLowerCase(Locale.ROOT);
        String arch = osArch.toLowerCase(Locale.ROOT);
        if (os.startsWith("mac")) {
            os = "macos";
        } else if (os.startsWith("windows")) {
            os = "windows";
        }
        if (arch.equals("amd64") || arch.equals("x64")) {
            arch = "x86_64";
        } else if (arch.equals("arm64")) {
            arch = "aarch64";
        }
        return os + "-" + arch;
    }

    static String resourceName(String platform) {
        String prefix = platform.startsWith("windows") ? "" : "lib";
        return String.format(
                "native/%s/%spaimon_writer_coordinator%s", platform, prefix, suffix(platform));
    }

    private static String suffix(String platform) {
        if (platform.startsWith("macos")) {
            return ".dylib";
        }
        return platform.startsWith("windows") ? ".dll" : ".so";
    }

    /**
     * Musl's loader is its libc, so it is among what this process has mapped; the rest is glibc.
     */
    static boolean isMusl(Path mappings) {
        try {
            return Files.readAllLines(mappings).stream()
                    .anyMatch(line -> line.contains("/ld-musl-"));
        } catch (IOException | SecurityException e) {
            return false;
        }
    }

    static CoordinatorException refusal(File copy, String what, String directory, Throwable cause) {
        // On a file system mounted noexec no file is executable, whatever its own flags say.
        if (copy.setExecutable(true) && !copy.canExecute()) {
            return failure(
                    String.format(
                            "%s does not allow execution (mounted noexec): %s", directory, cause),
                    nameADirectory("that allows execution"),
                    cause);
        }
        return failure(
                String.format("the copy of %s was refused: %s", what, cause),
                "on Linux, glibc from 2.17 on is needed; a library that was built for this machine"
                        + " can be named with "
                        + NAME_A_LIBRARY,
                cause);
    }

    private static String nameADirectory(String which) {
        return String.format(
                "name a directory %s with -D%s=<directory> (or %s)",
                which, TEMP_DIRECTORY_PROPERTY, TEMP_DIRECTORY_VARIABLE);
    }

    private static CoordinatorException failure(
            String problem, String remedy, @Nullable Throwable cause) {
        return new CoordinatorException(
                String.format(
                        "The native library of Paimon Writer Coordinator could not be loaded on"
                                + " os.name=%s, os.arch=%s: %s. What to do: %s.",
                        System.getProperty("os.name"),
                        System.getProperty("os.arch"),
                        problem,
                        remedy),
                cause);
    }

    /** A value that a system property or an environment variable gives. */
    static final class Setting {

        final String value;
        final String origin;

        private Setting(String value, String origin) {
            this.value = value;
            this.origin = origin;
        }

        /** The system property comes first: it is nearer to the one JVM that it is meant for. */
        @Nullable
        static Setting find(String property, String variable, Map<String, String> environment) {
            String value = System.getProperty(property);
            if (value != null) {
                return new Setting(value, "named by the system property " + property);
            }
            value = environment.get(variable);
            return value != null
                    ? new Setting(value, "named by the environment variable " + variable)
                    : null;
        }

        @Override
        public String toString() {
            return String.format("the file %s, %s,", value, origin);
        }
    }
}
