package io.paimonwriter.coordinator;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

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

    private static boolean loaded;
    @Nullable private static String failure;

    private NativeLibrary() {}

    /**
     * Loads the library if this class loader has not loaded it yet.
     *
     * @throws CoordinatorException if it cannot be found, copied or loaded; the text lists what was
     *     looked for and is the same for every later call
     */
    public static synchronized void load() {
        if (loaded) {
            return;
        }
        if (failure != null) {
            throw new CoordinatorException(failure);
        }
        String path = System.getProperty(LIBRARY_PROPERTY, System.getenv(LIBRARY_VARIABLE));
        String resource =
                resourceName(System.getProperty("os.name"), System.getProperty("os.arch"));
        try {
            loadCopy(path, resource);
            loaded = true;
        } catch (IOException | UnsatisfiedLinkError | SecurityException e) {
            failure = describeFailure(path, resource, e);
            throw new CoordinatorException(failure, e);
        }
    }

    private static void loadCopy(@Nullable String path, String resource) throws IOException {
        File copy = File.createTempFile("paimon_writer_coordinator", suffixOf(resource), tempDir());
        try {
            if (path != null) {
                Files.copy(Paths.get(path), copy.toPath(), StandardCopyOption.REPLACE_EXISTING);
            } else {
                copyResource(resource, copy.toPath());
            }
            System.load(copy.getAbsolutePath());
        } finally {
            // Windows keeps a loaded file; there the copy stays until somebody cleans the temp
            // directory. Deleting it at the exit of the JVM would keep its name in memory for ever.
            copy.delete();
        }
    }

    private static void copyResource(String resource, Path copy) throws IOException {
        try (InputStream in = NativeLibrary.class.getClassLoader().getResourceAsStream(resource)) {
            if (in == null) {
                throw new IOException("there is no such resource beside " + NativeLibrary.class);
            }
            Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    @Nullable
    private static File tempDir() {
        String directory = System.getProperty(TEMP_DIRECTORY_PROPERTY);
        return directory != null ? new File(directory) : null;
    }

    /** Name of the resource for a platform, such as native/linux-x86_64/lib….so. */
    static String resourceName(String osName, String osArch) {
        String os = osName.toLowerCase(Locale.ROOT);
        String arch = osArch.toLowerCase(Locale.ROOT);
        if (arch.equals("amd64") || arch.equals("x64")) {
            arch = "x86_64";
        } else if (arch.equals("arm64")) {
            arch = "aarch64";
        }
        if (os.startsWith("mac")) {
            return "native/macos-" + arch + "/libpaimon_writer_coordinator.dylib";
        }
        if (os.startsWith("windows")) {
            return "native/windows-" + arch + "/paimon_writer_coordinator.dll";
        }
        return "native/" + os + "-" + arch + "/libpaimon_writer_coordinator.so";
    }

    private static String suffixOf(String resource) {
        return resource.substring(resource.lastIndexOf('.'));
    }

    private static String describeFailure(@Nullable String path, String resource, Throwable cause) {
        File directory = tempDir();
        String looked =
                path != null
                        ? String.format(
                                "the file %s (named by the system property %s or the environment"
                                        + " variable %s)",
                                path, LIBRARY_PROPERTY, LIBRARY_VARIABLE)
                        : "the resource " + resource;
        return String.format(
                "The native library of Paimon Writer Coordinator could not be loaded on os.name=%s,"
                        + " os.arch=%s%s. Looked for %s, copied to the directory %s. Cause: %s."
                        + " What to do: use a jar that holds a library for this platform, or name a"
                        + " library file with -D%s=<path>; if the directory cannot be written to or"
                        + " does not allow execution, name another one with -D%s=<directory>.",
                System.getProperty("os.name"),
                System.getProperty("os.arch"),
                isMusl() ? " with musl in place of glibc" : "",
                looked,
                directory != null ? directory : System.getProperty("java.io.tmpdir"),
                cause,
                LIBRARY_PROPERTY,
                TEMP_DIRECTORY_PROPERTY);
    }

    /** Alpine and its like have only musl's loader; the library needs that of glibc. */
    private static boolean isMusl() {
        String[] names = new File("/lib").list((directory, name) -> name.startsWith("ld-musl-"));
        return names != null
                && names.length > 0
                && !new File("/lib64/ld-linux-x86-64.so.2").exists()
                && !new File("/lib/ld-linux-aarch64.so.1").exists();
    }
}
