//! The native library as a file: what it exports, what it needs of the machine, and that it stays mapped. Looks at the
//! library of this test run and at what scripts/natives has built below target/natives.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read as a library fails its test")]

use std::collections::BTreeSet;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};

use object::elf::{DF_1_NODELETE, DT_FLAGS_1, FileHeader64};
use object::macho::MH_HAS_TLV_DESCRIPTORS;
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Architecture, Endianness, Export, File, FileFlags, Object};

const NATIVES: [&str; 9] = [
    "NativeCoordinator_committerReported",
    "NativeCoordinator_create",
    "NativeCoordinator_destroy",
    "NativeCoordinator_handleEvent",
    "NativeCoordinator_handleRequest",
    "NativeCoordinator_notify",
    "NativeCoordinator_reset",
    "NativeCoordinator_run",
    "Pwc_run",
];

fn of_this_run() -> PathBuf {
    let name = format!("{DLL_PREFIX}paimon_writer_coordinator{DLL_SUFFIX}");
    std::env::current_exe().unwrap().with_file_name(name)
}

/// The folders are named after the platforms; there are none before scripts/natives has run.
fn below_target_natives() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/natives");
    let Ok(platforms) = fs::read_dir(folder) else { return Vec::new() };
    let files = platforms.flat_map(|platform| fs::read_dir(platform.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

fn platform_of(path: &Path) -> &str {
    path.parent().unwrap().file_name().unwrap().to_str().unwrap()
}

/// `_Java_…_NativeCoordinator_create___3B` gives `NativeCoordinator_create`; only macOS has the first underscore.
fn native(name: &str) -> Option<&str> {
    let native = name.trim_start_matches('_');
    let native = native.strip_prefix("Java_io_paimonwriter_coordinator_")?;
    native.split("__").next()
}

fn check(path: &Path, what: impl Fn(&[u8], &File)) {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = File::parse(&*bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    println!("{}", path.display());
    what(&bytes, &file);
}

fn check_all(what: impl Fn(&[u8], &File)) {
    check(&of_this_run(), &what);
    below_target_natives().iter().for_each(|path| check(path, &what));
}

#[test]
fn exports_the_natives_and_nothing_else() {
    check_all(|_, file| {
        let exports: Vec<Export> = file.exports().unwrap().map(|export| export.unwrap()).collect();
        let names = exports.iter().map(|export| export.name().into_name().unwrap());
        let names: Vec<&str> = names.map(|name| std::str::from_utf8(name).unwrap()).collect();
        let natives: BTreeSet<&str> = names.iter().map(|name| native(name).unwrap_or(name)).collect();
        assert_eq!(natives, NATIVES.into());
        assert_eq!(names.len(), NATIVES.len());
    });
}

/// On macOS there is no flag to ask for it, and no need: dyld never unloads an image that has thread-local variables.
#[test]
fn stays_mapped() {
    check_all(|bytes, file| {
        if let FileFlags::MachO { flags } = file.flags() {
            assert!(flags.contains(MH_HAS_TLV_DESCRIPTORS));
            return;
        }
        let header = FileHeader64::<Endianness>::parse(bytes).unwrap();
        let endian = header.endian().unwrap();
        let sections = header.sections(endian, bytes).unwrap();
        let (entries, _) = sections.dynamic(endian, bytes).unwrap().unwrap();
        let flags = entries.iter().find(|entry| entry.tag(endian) == DT_FLAGS_1).unwrap();
        assert_ne!(flags.d_val(endian) & DF_1_NODELETE.0, 0);
    });
}

#[test]
fn needs_nothing_newer_than_glibc_2_17() {
    for path in below_target_natives().iter().filter(|path| platform_of(path).starts_with("linux-")) {
        check(path, |bytes, _| {
            let file = ElfFile64::<Endianness>::parse(bytes).unwrap();
            let endian = file.endian();
            let sections = file.elf_section_table();
            let (mut libraries, strings) = sections.gnu_verneed(endian, bytes).unwrap().unwrap();
            let strings = sections.strings(endian, bytes, strings).unwrap();
            let mut versions = BTreeSet::new();
            while let Some((_, mut needed)) = libraries.next().unwrap() {
                while let Some(version) = needed.next().unwrap() {
                    versions.insert(std::str::from_utf8(version.name(endian, strings).unwrap()).unwrap());
                }
            }
            assert!(!versions.is_empty());
            for version in versions {
                let number =
                    version.strip_prefix("GLIBC_").unwrap_or_else(|| panic!("{version} is not glibc's"));
                let number: Vec<u32> = number.split('.').map(|part| part.parse().unwrap()).collect();
                assert!(number <= vec![2, 17], "{version}");
            }
        });
    }
}

#[test]
fn lies_in_the_folder_of_its_platform() {
    for path in below_target_natives() {
        check(&path, |_, file| {
            let os = if matches!(file.flags(), FileFlags::MachO { .. }) { "macos" } else { "linux" };
            let architecture =
                if file.architecture() == Architecture::Aarch64 { "aarch64" } else { "x86_64" };
            assert_eq!(platform_of(&path), format!("{os}-{architecture}"));
        });
    }
}
